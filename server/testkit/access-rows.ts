/** Calls of an API by their access class. How a line is written: access-of-presets.ts. */
export interface AccessRows {
  read: string
  write?: string
  destructive?: string
}
