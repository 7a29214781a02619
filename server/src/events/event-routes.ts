import { Type } from 'typebox'
import { actingPerson } from '../authenticate.ts'
import type { Http } from '../platform/http/http.ts'
import type { Listeners } from './listeners.ts'

export function eventRoutes(http: Http, listeners: Listeners): void {
  http.addHook('preClose', (done) => {
    listeners.stop()
    done()
  })

  http.get(
    '/v4/events',
    {
      // It would begin to listen, and never end.
      exposeHeadRoute: false,
      config: { allow: ['user', 'device'] },
      schema: {
        tags: ['Events'],
        summary: 'Be told when something of yours changes (server-sent events)',
        description:
          'The first event is `ready`: read everything once, then again what `changed` names in `{"topics": […]}`. ' +
          'It says what has changed and never how, so that the other calls decide what you may see. `activity` comes ' +
          'with every record that concerns you, and with every call under your grants, whose counts change with it. ' +
          '`ended` is the last event: `{"reason": "session_over"}` once your session is over, within about a second, ' +
          'or `{"reason": "stopping"}`, then connect again. A comment comes every 15 seconds. Listening does not keep a ' +
          'session from expiring. A device is told of what it may read. 429 `too_many_streams` beyond 12 of one user.',
        response: {
          200: {
            description: 'The events, as they come',
            content: { 'text/event-stream': { schema: Type.String() } },
          },
        },
      },
    },
    async (request, reply) => {
      const { readable } = await listeners.listen(actingPerson(request))
      // Proxies that collect an answer before they pass it on would hold back everything.
      void reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no')
      return reply.send(readable as unknown as string)
    },
  )
}
