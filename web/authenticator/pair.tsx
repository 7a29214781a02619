/** Pairs this browser: creates a key that can't be exported, and sends the pairing code. */
import { generateDeviceKey, pairDevice } from '@sallyport/sdk'
import { useState } from 'react'
import { Action } from '../ui/action.tsx'
import { Field } from '../ui/field.tsx'
import { isProblem } from '../ui/problem.ts'
import { Card, Notice, View } from '../ui/view.tsx'
import { keep } from './kept-device.ts'

export function Pair({ code, onPaired }: { code: string; onPaired: () => unknown }) {
  const [pairingCode, setPairingCode] = useState(code)
  const [name, setName] = useState(deviceName)
  const [problem, setProblem] = useState<string>()
  const pair = async () => {
    setProblem(undefined)
    if (pairingCode.trim() === '') {
      setProblem('Enter the code shown in the console.')
      return
    }
    try {
      const key = await generateDeviceKey()
      const paired = await pairDevice({
        baseUrl: location.origin,
        pairingCode: pairingCode.trim(),
        key,
        ...(name.trim() !== '' && { deviceName: name.trim() }),
      })
      await keep({
        deviceId: paired.device.device_id,
        sessionToken: paired.session_token,
        key,
        vapidPublicKey: paired.vapid_public_key,
      })
    } catch (error) {
      if (!isProblem(error, 'not_found', 'expired', 'invalid_field')) throw error
      setProblem('This code doesn’t work. It may be mistyped, already used, or more than 10 minutes old.')
      return
    }
    await onPaired()
  }
  return (
    <View
      title="Pair this device"
      lead="You’ll be notified here when an agent requests access, and this device signs your decision."
    >
      {code !== '' && (
        <Notice>
          The code came from the link you opened. Pair only if you just created it in your own console: this browser
          becomes a device of the user who created the code.
        </Notice>
      )}
      {isPageOnAppleDevice() && (
        <Notice tone="calm">
          For notifications on an iPhone or iPad, first choose Share, “Add to Home Screen”, open this page from there,
          and enter the code.
        </Notice>
      )}
      <Card>
        <div className="space-y-5">
          <Field
            label="Pairing code"
            note="In the console, open Devices and choose “Pair a device”. Scan the code or type it here."
            value={pairingCode}
            problem={problem}
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
            onChange={(event) => {
              setPairingCode(event.target.value)
            }}
          />
          <Field
            label="Device name"
            value={name}
            maxLength={200}
            onChange={(event) => {
              setName(event.target.value)
            }}
          />
          <Action look="main" act={pair}>
            Pair
          </Action>
        </div>
      </Card>
      <p className="text-sm text-quiet">
        The key is created in this browser and can’t be exported, not even by this page. If you clear the browser’s
        data, the key is lost and you need to pair again.
      </p>
    </View>
  )
}

/** It sends notifications only to pages on the home screen, which do not share what this page stores. */
function isPageOnAppleDevice(): boolean {
  return 'standalone' in navigator && !navigator.standalone
}

/** A default device name, which the user can change. */
function deviceName(): string {
  const { userAgent } = navigator
  const system = /Android|iPhone|iPad|Mac|Windows|Linux/.exec(userAgent)?.[0] ?? 'device'
  const browser = /Firefox|Edg|Chrome|Safari/.exec(userAgent)?.[0].replace('Edg', 'Edge') ?? 'Browser'
  return `${browser} on ${system}`
}
