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
      // A HEAD request would start listening and never end.
      exposeHeadRoute: false,
      config: { allow: ['user', 'device'] },
      schema: {
        tags: ['Events'],
        summary: 'Stream change notifications (server-sent events)',
        description:
          'The first event is `ready`: read everything once, then again whatever `changed` lists in `{"topics": […]}`. ' +
          'Events never contain the changed data, so the other endpoints decide what you may see. `activity` is sent ' +
          'for every audit record that concerns you and for every call with one of your grants, which also changes its call count. ' +
          '`ended` is the last event: `{"reason": "session_over"}` within about a second after your session ends, ' +
          'or `{"reason": "stopping"}`, then connect again. A comment is sent every 15 seconds. An open stream does not keep a ' +
          'session from expiring. A device gets only the topics it may read. A user can open 12 streams (429 `too_many_streams` beyond that).',
        response: {
          200: {
            description: 'The event stream',
            content: { 'text/event-stream': { schema: Type.String() } },
          },
        },
      },
    },
    async (request, reply) => {
      const { readable } = await listeners.listen(actingPerson(request))
      // Tell nginx not to buffer the response.
      void reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no')
      return reply.send(readable as unknown as string)
    },
  )
}
