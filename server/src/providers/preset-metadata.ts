import type { Metadata } from '../platform/oauth/oauth-client.ts'
import type { Preset } from './presets/preset.ts'

/** A preset's endpoints under RFC 8414's names. */
export function presetMetadata(preset: Preset): Metadata {
  const { deviceAuthorizationUrl, revocationUrl, userinfoUrl } = preset
  return {
    issuer: preset.issuerUrl,
    authorization_endpoint: preset.authorizationUrl,
    token_endpoint: preset.tokenUrl,
    ...(deviceAuthorizationUrl !== undefined && { device_authorization_endpoint: deviceAuthorizationUrl }),
    ...(revocationUrl !== undefined && { revocation_endpoint: revocationUrl }),
    ...(userinfoUrl !== undefined && { userinfo_endpoint: userinfoUrl }),
    ...(preset.issParameter && { authorization_response_iss_parameter_supported: true }),
  }
}
