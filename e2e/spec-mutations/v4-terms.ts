import type { Mutation } from './mutation.ts'

export const v4Terms: Mutation[] = [
  {
    row: "Rules 2: a signature counts over the user's session, also without a decision in the challenge",
    file: 'server/src/access-requests/approve.ts',
    from: 'decision === null && requiresDevice && device',
    to: 'decision === null && device',
  },
  {
    row: 'Access request: with an unknown user_id, whoever opens the link decides',
    file: 'server/src/access-requests/access-request.ts',
    from: 'return userId === null || userId',
    to: 'return userId',
  },
  {
    row: 'Bodies: null for an optional member means absent',
    file: 'server/src/platform/http/validation.ts',
    from: 'if (isBody) dropNulls(',
    to: 'if (!isBody) dropNulls(',
  },
  {
    row: 'Events 2: one stranger does not use up the pushes of others',
    file: 'server/src/devices/push-limits.ts',
    from: '[{ key: `pushes-from:${agentId}:${who}`, limit: hour }],',
    to: '[{ key: `pushes-from:${who}`, limit: hour }],',
  },
  {
    row: 'Events 2: what is asked while there is no device uses up no push',
    file: 'server/src/access-requests/notify.ts',
    from: '? userId : `nobody:${userId}`',
    to: '? userId : userId',
  },
  {
    row: 'Envelope: base64url with or without padding',
    file: 'protocol/src/v1/base64url.ts',
    from: 'const text = withoutPadding(padded)',
    to: 'const text = padded',
  },
]
