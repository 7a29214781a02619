import type { Notification } from '../platform/push/push-service.ts'

/** The text of a notification. It passes through third-party push services: no secrets. */
export interface PushMessage {
  title: string
  body: string
  /** The page where the user can decide. */
  url: string
  /** The request that it is about. */
  accessRequestId?: string
  /** The calls that it is about. */
  calls?: { newest: string; count: number }
}

/** A later notification about calls that wait replaces an earlier one. */
const ofCalls = 'calls'

export function toNotification({ title, body, url, ...about }: PushMessage, expiresAt: Date): Notification {
  const { accessRequestId = '', calls } = about
  const data = calls ? { call_id: calls.newest, count: String(calls.count) } : { access_request_id: accessRequestId }
  return { title, body, data: { ...data, url }, collapseId: calls ? ofCalls : accessRequestId, expiresAt }
}

const longestName = 40
/** An agent's name could use one to end the quotation and add text that looks like ours. */
const quotationMarks = /["“”„‟«»〝〞〟＂]/gu

/** Counts grapheme clusters, so that no visible character is cut in half. */
export function shortName(name: string): string {
  const characters = Array.from(new Intl.Segmenter().segment(name), ({ segment }) => segment)
  const short = characters.length > longestName ? `${characters.slice(0, longestName - 1).join('')}…` : name
  return short.replaceAll(quotationMarks, '’')
}
