/** Where the service puts the bytes to look at: 32 KiB, and as many more as are read at once where fewer are left. */
export const block: usize = memory.data(32768 + 16, 16)
