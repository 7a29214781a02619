/** Asks on the terminal, one line at a time. Hidden answers are not shown while they are typed. */
import { StringDecoder } from 'node:string_decoder'
import type { ReadStream } from 'node:tty'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure } from './failures.ts'

/** Arrow keys, and what terminals put around pasted text. */
const escapeSequence = new RegExp(String.raw`\u001b\[[0-9;]*[A-Za-z~]`, 'g')

const [interrupt, endOfInput, ...erase] = ['\u0003', '\u0004', '\u007f', '\b']

/**
 * The terminal is switched to raw mode, in which it shows nothing by itself. Text after the line that was asked for is
 * dropped: it may be the rest of a pasted secret, and must not answer another question.
 */
export function ask(
  input: Pick<ReadStream, 'setRawMode' | 'resume' | 'pause' | 'on' | 'off'>,
  output: NodeJS.WritableStream,
  question: string,
  isHidden: boolean,
): Promise<string> {
  const decoder = new StringDecoder('utf8')
  const typed: string[] = []
  // First, so that nothing is shown that is typed as soon as the question appears.
  input.setRawMode(true)
  output.write(question)
  return new Promise<string>((resolve, reject) => {
    const end = () => {
      input.off('data', take).off('end', stop).off('close', stop)
      input.setRawMode(false)
      input.pause()
      output.write('\n')
    }
    const stop = () => {
      end()
      reject(new CommandFailure(exitCodes.interrupted, 'stopped', { code: 'interrupted' }))
    }
    const take = (chunk: Buffer) => {
      for (const character of decoder.write(chunk).replace(escapeSequence, '')) {
        if (character === interrupt) {
          stop()
          return
        }
        if (character === endOfInput || character === '\r' || character === '\n') {
          end()
          resolve(typed.join(''))
          return
        }
        if (erase.includes(character)) {
          if (typed.pop() !== undefined && !isHidden) output.write('\b \b')
        } else if (character >= ' ') {
          typed.push(character)
          if (!isHidden) output.write(character)
        }
      }
    }
    input.on('data', take).on('end', stop).on('close', stop)
    input.resume()
  })
}
