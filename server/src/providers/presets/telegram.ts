import { callsAt } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.telegram.org'

/** All that change nothing, by GET or POST. */
const reads = `
  getAvailableGifts getBusinessAccountGifts getBusinessAccountStarBalance getBusinessConnection getChat
  getChatAdministrators getChatGifts getChatMember getChatMemberCount getChatMembersCount getChatMenuButton
  getCustomEmojiStickers getFile getForumTopicIconStickers getGameHighScores getManagedBotAccessSettings getMe
  getMyCommands getMyDefaultAdministratorRights getMyDescription getMyName getMyShortDescription getMyStarBalance
  getStarTransactions getStickerSet getUpdates getUserChatBoosts getUserGifts getUserPersonalChatMessages
  getUserProfileAudios getUserProfilePhotos getWebhookInfo`

export const telegram: Preset = {
  id: 'telegram',
  name: 'Telegram',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a bot with @BotFather, which answers with its token. The bot sees only the chats that it is added to.',
      inject: [
        { in: 'path', name: '/{credential}/', template: 'bot{api_key}' },
        { in: 'path', name: '/file/{credential}/', template: 'bot{api_key}' },
      ],
      check: {
        url: 'https://api.telegram.org/{credential}/getMe',
        account: { id: 'result.id', labels: ['result.username', 'result.first_name'] },
      },
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/*/setWebhook' },
    { host, path: '/*/test/setWebhook' },
    // The answer contains the token of another bot.
    { host, path: '/*/getManagedBotToken' },
    { host, path: '/*/replaceManagedBotToken' },
  ],
  access: {
    getIsRead: false,
    reads: [
      ...reads
        .trim()
        .split(/\s+/)
        .flatMap((method) => [`/*/${method}`, `/*/test/${method}`].map((path) => ({ host, path }))),
      { host, path: '/file/**', methods: ['GET', 'HEAD'] },
    ],
    // With an offset, updates before it are dropped. Which updates there are is kept for later calls.
    writes: (['query', 'body'] as const).flatMap((where) =>
      ['offset', 'allowed_updates'].map((name) => ({
        ...{ host, path: '/**/getUpdates' },
        parameter: { in: where, name },
      })),
    ),
    // Banning deletes all messages of the user.
    destructive: callsAt(
      host,
      `
        /**/delete*
        /**/banChatMember
        /**/kickChatMember`,
    ),
  },
  bodyChecks: [],
  docs: ['https://core.telegram.org/bots/features', 'https://core.telegram.org/bots/api'],
}
