import type { EnvelopeParts } from '@sallyport/protocol/v1/envelope'
import { ServiceError } from '../platform/errors.ts'
import { authenticateClient } from './authenticate-client.ts'
import type { Rotation } from './client-store.ts'
import type { IssuedChallenge } from './issue-challenge.ts'
import { operate } from './operate.ts'
import type { OperateNeeds } from './operate.ts'

/** Replaces the active key (legacy v1, Rules 3). Challenges for the former key are revoked. */
export async function rotateKey(
  needs: OperateNeeds,
  auth: EnvelopeParts,
  rotation: Rotation,
  requestId: string,
): Promise<IssuedChallenge> {
  const { key, keyId } = rotation
  const caller = await authenticateClient(needs, auth, 'authai.rotate_key', { new_client_public_key: key.spki })
  const { client } = caller
  return operate(needs, caller, {
    event: 'v1.key_rotated',
    recipient: { clientUuid: client.clientUuid, publicKey: key.pem, keyId },
    act: async (tx, now) => {
      if (!(await needs.clients.rotate(tx, client, rotation, now))) {
        throw new ServiceError('public_key_already_registered', { field: 'new_client_public_key' })
      }
      return { old_fingerprint: client.fingerprint, new_fingerprint: key.fingerprint }
    },
    requestId,
  })
}
