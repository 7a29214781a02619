/** The input buffer: 32 KiB, plus 16 bytes because the last SIMD load may read past the end of the input. */
export const block: usize = memory.data(32768 + 16, 16)
