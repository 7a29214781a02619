import { Type, type Static } from 'typebox'
import { accessClasses } from './grant-terms.ts'

/** Something that calls to a provider can do, in words that its users know. */
export const Ability = Type.Object({
  does: Type.String({ description: 'A verb', examples: ['read'] }),
  what: Type.String({ examples: ['your mail'] }),
  access: Type.Enum(accessClasses),
  host: Type.String({ description: 'The API host that it is done at' }),
  path: Type.String({ description: 'The path prefix; a segment * matches any one segment' }),
  methods: Type.Optional(Type.Array(Type.String(), { description: 'Default: those that usually have this access' })),
  scopes: Type.Optional(
    Type.Array(Type.String(), { description: 'Any of these allows it. Absent: scopes do not tell' }),
  ),
  only: Type.Optional(Type.Boolean({ description: 'Calls to this path do nothing else, so they delete nothing' })),
})
export type Ability = Static<typeof Ability>
