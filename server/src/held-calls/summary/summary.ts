/** What a held call does, as the person who decides reads it: from the call alone, never from what its agent says. */
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import type { HeaderList } from '../../proxy/upstream.ts'

/** As it will be sent, without the credential. The body has been through the redactor. */
export interface SummarisedCall {
  method: string
  url: URL
  headers: HeaderList
  body: Buffer | undefined
  /** Of the provider. */
  preset: string | null
  access: AccessClass
}

export interface Detail {
  name: string
  /** May have line breaks; everything else that could mislead is escaped. */
  value: string
}

export interface Summary {
  /** At most 400 characters. Null: it can't be summarised. */
  sentence: string | null
  details: Detail[]
  /**
   * What an approved repeat must have in common with this call beside agent, grant, method and URL: a repeated call must
   * have the same text here, which is never cut. Null: each such call is approved on its own.
   */
  repeatScope: string | null
}
