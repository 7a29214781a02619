/** Set when the CLI is bundled. */
declare const sallyportVersion: string | undefined

export const version = typeof sallyportVersion === 'string' ? sallyportVersion : '0.0.0-source'
