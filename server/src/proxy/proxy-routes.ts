import { ProxyBody, ProxyReply } from '@sallyport/protocol/proxy'
import { actingAgent } from '../authenticate.ts'
import type { Config } from '../platform/config.ts'
import type { Http } from '../platform/http/http.ts'
import { proxyCall } from './proxy-call.ts'
import type { ProxyNeeds } from './proxy-call.ts'

export function proxyRoutes(http: Http, needs: ProxyNeeds & { config: Pick<Config, 'proxyBodyBytes'> }): void {
  http.post(
    '/v4/proxy',
    {
      config: { allow: ['agent'] },
      bodyLimit: needs.config.proxyBodyBytes,
      schema: {
        tags: ['Proxy'],
        summary: "Call an API with the user's credential, which is put in here and taken out of the answer",
        body: ProxyBody,
        response: { 200: ProxyReply },
      },
    },
    async (request) => {
      const { grant_id: grantId, method, url, headers = {}, body } = request.body
      const answer = await proxyCall(
        needs,
        actingAgent(request).agent,
        { grantId, method, url, headers, body },
        request.id,
      )
      return {
        status: answer.status,
        headers: answer.headers,
        body: answer.body,
        body_encoding: answer.bodyEncoding,
        redactions: answer.redactions,
        dropped_headers: answer.droppedHeaders,
        audit_id: answer.auditId,
      }
    },
  )
}
