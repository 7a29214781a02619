/** Makes a device of this browser: a key that can't leave it, and the code that says whose device it is. */
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
      setProblem('Type the code that the console shows you.')
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
      setProblem('This code does not work. It may be mistyped, used already, or older than 10 minutes.')
      return
    }
    await onPaired()
  }
  return (
    <View
      title="Pair this device"
      lead="Requests of agents then ring here, and you decide on them by a signature of this device."
    >
      {code !== '' && (
        <Notice>
          The code came with the link that you opened. Pair only if you have just made it in your own console: this
          browser becomes a device of whoever made the code.
        </Notice>
      )}
      <Card>
        <div className="space-y-5">
          <Field
            label="Pairing code"
            note="In the console, under Devices, choose “Pair a device”. Scan the code that it shows, or type it here."
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
            label="Name of this device"
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
        A key is made in this browser and can’t be taken out of it, not even by this page. If you clear the browser’s
        data, it is gone, and you pair again.
      </p>
    </View>
  )
}

/** What the person will know it by; they can change it. */
function deviceName(): string {
  const { userAgent } = navigator
  const system = /Android|iPhone|iPad|Mac|Windows|Linux/.exec(userAgent)?.[0] ?? 'device'
  const browser = /Firefox|Edg|Chrome|Safari/.exec(userAgent)?.[0].replace('Edg', 'Edge') ?? 'Browser'
  return `${browser} on ${system}`
}
