/** A one-time pairing code, as text and as a QR code. */
import { useEffect, useState } from 'react'
import type { PairingCodeReply } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { useSay } from '../../ui/message.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { Card, Notice } from '../../ui/view.tsx'
import { service } from '../service.ts'
import { unreachableFromPhone } from './reachable.ts'
import type { Unreachability } from './reachable.ts'

const howToUse = {
  reachable: 'Scan it with your phone, or open the authenticator there and enter:',
  'this-machine': 'In another browser on this computer, open the authenticator and enter:',
  insecure: 'The code, for an app that creates keys by itself:',
}

/** `known`: the number of devices. If it grows, the code was used. */
export function PairDevice({ known }: { known: number | undefined }) {
  const { say } = useSay()
  const [issued, setIssued] = useState<{ code: PairingCodeReply; before: number }>()
  const isUsed = issued !== undefined && (known ?? 0) > issued.before
  useEffect(() => {
    if (isUsed) say('The device is paired.')
  }, [isUsed, say])
  const begin = async () => {
    setIssued({ code: await service.devices.createPairingCode(), before: known ?? 0 })
  }
  if (!issued || isUsed) {
    return (
      <Action look="main" act={begin}>
        Pair a device
      </Action>
    )
  }
  const why = unreachableFromPhone(issued.code.pairing_url)
  return (
    <Card label="Pair a device">
      {why && <Unreachable address={issued.code.pairing_url} why={why} />}
      <div className="flex flex-wrap items-center gap-6">
        {!why && (
          <div className="w-44">
            <QrCode
              text={issued.code.pairing_url}
              label="QR code with the authenticator’s address and the pairing code"
            />
          </div>
        )}
        <div className="min-w-0 flex-1 basis-60 space-y-3">
          <p>{howToUse[why ?? 'reachable']}</p>
          <p className="font-mono text-2xl font-semibold tracking-widest select-all">{issued.code.pairing_code}</p>
          <Remaining until={issued.code.expires_at} onOver={setIssued} />
          <p className="text-sm text-quiet">
            Or{' '}
            <a className="font-medium text-accent underline" href={issued.code.pairing_url}>
              pair this browser
            </a>
            .
          </p>
          <Action
            act={() => {
              setIssued(undefined)
            }}
          >
            Close
          </Action>
        </div>
      </div>
    </Card>
  )
}

function Unreachable({ address, why }: { address: string; why: Unreachability }) {
  const { origin } = new URL(address)
  return (
    <div className="mb-5">
      <Notice>
        <p className="font-semibold">A phone can’t pair at this address.</p>
        <p className="mt-1">
          {why === 'this-machine'
            ? `${origin} means the phone itself when the phone opens it. `
            : `Browsers create keys only on https, and ${origin} is plain http. `}
          Ask whoever runs this service to set <code>SALLYPORT_BASE_URL</code> to an https address that your phone can
          open, and to restart it. {why === 'this-machine' && 'A browser on this computer can be paired now.'}
        </p>
      </Notice>
    </div>
  )
}

function Remaining({ until, onOver }: { until: string; onOver: (issued: undefined) => void }) {
  const left = useSecondsUntil(until)
  const { say } = useSay()
  useEffect(() => {
    if (left > 0) return
    say('The code has expired. Create a new one.')
    onOver(undefined)
  }, [left, onOver, say])
  const minutes = Math.floor(left / 60)
  return (
    <p className="text-sm text-quiet">
      It works once and expires in{' '}
      <span className="tabular-nums">
        {minutes}:{String(left % 60).padStart(2, '0')}
      </span>{' '}
      minutes. Don’t share it.
    </p>
  )
}

function useSecondsUntil(moment: string): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now())
    }, 1000)
    return () => {
      clearInterval(timer)
    }
  }, [])
  return Math.max(0, Math.ceil((Date.parse(moment) - now) / 1000))
}
