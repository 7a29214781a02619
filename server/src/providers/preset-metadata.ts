import type { Metadata } from '../platform/oauth/oauth-client.ts'
import type { PresetOAuth } from './presets/preset.ts'

/** A preset's endpoints under RFC 8414's names. */
export function presetMetadata(oauth: PresetOAuth): Metadata {
  const { deviceAuthorizationUrl, revocationUrl, userinfoUrl } = oauth
  return {
    issuer: oauth.issuerUrl,
    authorization_endpoint: oauth.authorizationUrl,
    token_endpoint: oauth.tokenUrl,
    ...(deviceAuthorizationUrl !== undefined && { device_authorization_endpoint: deviceAuthorizationUrl }),
    ...(revocationUrl !== undefined && { revocation_endpoint: revocationUrl }),
    ...(userinfoUrl !== undefined && { userinfo_endpoint: userinfoUrl }),
    ...(oauth.issParameter && { authorization_response_iss_parameter_supported: true }),
  }
}
