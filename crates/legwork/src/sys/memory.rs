//! Hints to the kernel about memory that will be needed.

/// The size of a large page where they are small enough to be of use here.
const LARGE_PAGE: usize = 2 * 1024 * 1024;

/// Asks for large pages for a buffer that is about to be filled. Filling a large
/// buffer costs mostly page faults, and a large page takes the place of five hundred. Where the
/// kernel knows none, nothing changes.
pub(crate) fn prefer_large_pages(buffer: &mut Vec<u8>) {
    let start = buffer.as_mut_ptr();
    let skipped = start.align_offset(LARGE_PAGE);
    let length = buffer.capacity().saturating_sub(skipped) / LARGE_PAGE * LARGE_PAGE;
    if length > 0 {
        // SAFETY: the range lies within the buffer's allocation, and the hint leaves its contents
        // and its place alone.
        unsafe {
            libc::madvise(start.wrapping_add(skipped).cast(), length, libc::MADV_HUGEPAGE);
        }
    }
}
