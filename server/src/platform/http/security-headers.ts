import helmet from '@fastify/helmet'
import type { Http } from './http.ts'

/** Our pages run our own files and nothing else: no inline script or style, no other host, no frame. */
export async function setSecurityHeaders(http: Http, baseUrl: URL): Promise<void> {
  const isHttps = baseUrl.protocol === 'https:'
  await http.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        fontSrc: ["'self'"],
        connectSrc: ["'self'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        baseUri: ["'none'"],
      },
    },
    strictTransportSecurity: isHttps ? { maxAge: 31_536_000 } : false,
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
  })
  http.addHook('onSend', async (_request, reply) => {
    // Answers speak of one caller at one moment.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  })
}
