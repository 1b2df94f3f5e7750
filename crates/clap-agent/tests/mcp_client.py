"""Uses `tasks mcp` as an agent would, with the `mcp` client from PyPI, and checks what it sees.

mcp_client.py PROGRAM DIRECTORY MODE, where MODE is "legacy" (with a handshake) or "auto".
"""

import asyncio
import json
import os
import pathlib
import sys

import jsonschema
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

program, directory, mode = sys.argv[1:]
file = pathlib.Path(directory, "tasks.json")
server = StdioServerParameters(
    command=program, args=["mcp"], cwd=directory, env={"PATH": os.environ["PATH"]}
)


def ids():
    return [task["id"] for task in json.loads(file.read_text())]


def text(result):
    return json.loads(result.content[0].text)


async def without_a_person():
    async with Client(server, mode=mode) as client:
        print("protocol", client.protocol_version)
        assert client.server_info.name == "tasks", client.server_info
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == [
            "import", "label_list", "task_create", "task_delete", "task_get", "task_list",
            "task_update", "watch",
        ], sorted(tools)
        print("tools", ", ".join(sorted(tools)))

        hints = {name: tool.annotations for name, tool in tools.items()}
        assert hints["task_list"].read_only_hint and hints["task_list"].idempotent_hint
        assert not hints["task_create"].read_only_hint
        assert not hints["task_create"].destructive_hint
        assert hints["task_delete"].destructive_hint and hints["task_delete"].idempotent_hint
        assert hints["import"].destructive_hint, "its --replace is"
        schema = tools["task_list"].input_schema
        assert schema["properties"]["status"]["enum"] == ["open", "done", "all"], schema
        assert tools["task_get"].input_schema["required"] == ["id"]
        print("annotations and input schemas as declared")

        # Structured output, validated by the client and here once more.
        got = await client.call_tool("task_get", {"id": 1})
        assert not got.is_error, got
        jsonschema.validate(got.structured_content, tools["task_get"].output_schema)
        assert got.structured_content["title"] == "buy milk", got
        listed = await client.call_tool("task_list", {"status": "done"})
        jsonschema.validate(listed.structured_content, tools["task_list"].output_schema)
        assert [task["id"] for task in listed.structured_content["result"]] == [2], listed
        try:
            jsonschema.validate({"id": "one"}, tools["task_get"].output_schema)
            raise SystemExit("the schema allows anything")
        except jsonschema.ValidationError:
            print("structured content validates against its schema")

        # Errors are the program's own.
        missing = await client.call_tool("task_get", {"id": 99})
        assert missing.is_error and text(missing)["error"] == "not_found", missing
        assert text(missing)["valid_values"] == ["1", "2"], missing
        wrong = await client.call_tool("task_list", {"status": "dne"})
        assert wrong.is_error and text(wrong)["suggestion"] == "did you mean 'done'?", wrong
        flag = await client.call_tool("task_create", {"title": "--schema", "yes": True})
        assert flag.structured_content["title"] == "--schema", flag
        print("errors come with their hints; no value is taken for a flag")

        # A plan changes nothing; the gate refuses.
        plan = await client.call_tool("task_delete", {"id": 1, "dry_run": True})
        assert plan.structured_content["plan"]["id"] == 1, plan
        refused = await client.call_tool("task_delete", {"id": 1})
        assert refused.is_error and text(refused)["error"] == "confirmation_required", refused
        assert 1 in ids()
        print("refused by the gate")
        deleted = await client.call_tool("task_delete", {"id": 1, "yes": True})
        assert not deleted.is_error and 1 not in ids(), deleted
        print("confirmed beforehand")

        # Events of a stream are told with its answer.
        watched = await client.call_tool("watch", {"count": 1})
        assert watched.structured_content == {"reported": 1}, watched
        assert json.loads(watched.content[1].text)["title"] == "file taxes", watched

        seen = []

        async def progress(done, total, message):
            seen.append((done, total, message))

        imported = await client.call_tool(
            "import", {"list": "list.txt", "pace": 5, "yes": True}, progress_callback=progress
        )
        assert imported.structured_content == {"created": 2, "skipped": 2}, imported
        assert [step[0] for step in seen] == [1, 4], seen
        assert seen[-1][1] == 4 and "import" in seen[-1][2], seen
        print("progress", seen)


async def with_a_person():
    answers = []
    asked = []

    async def elicit(context, params):
        asked.append(params.message)
        return answers.pop(0)

    async with Client(server, mode=mode, elicitation_callback=elicit) as client:
        answers.append(ElicitResult(action="decline"))
        declined = await client.call_tool("task_delete", {"id": 2})
        assert declined.is_error and text(declined)["error"] == "cancelled", declined
        assert 2 in ids()
        answers.append(ElicitResult(action="accept", content={"confirm": False}))
        declined = await client.call_tool("task_delete", {"id": 2})
        assert declined.is_error and 2 in ids(), declined
        answers.append(ElicitResult(action="accept", content={"confirm": True}))
        deleted = await client.call_tool("task_delete", {"id": 2})
        assert not deleted.is_error and 2 not in ids(), deleted
        assert len(asked) == 3 and "`tasks task delete` may destroy" in asked[0], asked
        print("asked:", asked[0])
        # Nobody is asked about reading.
        await client.call_tool("task_list", {})
        assert len(asked) == 3
        print("declined, then confirmed by a person")


asyncio.run(without_a_person())
asyncio.run(with_a_person())
print("everything seen")
