// Server-sent events over fetch: EventSource cannot send the page token.
import { useEffect, useRef, useState } from 'preact/hooks'
import { sendRequest } from './client.ts'

export interface ServerEvent {
  readonly event: string
  readonly data: unknown
}

/** Splits a stream of text into events. The rest of the text waits for the next piece. */
export function takeEvents(text: string): { readonly events: readonly ServerEvent[]; readonly rest: string } {
  const blocks = text.replaceAll('\r\n', '\n').split('\n\n')
  const rest = blocks.pop() ?? ''
  return { events: blocks.flatMap(readEvent), rest }
}

function readEvent(block: string): readonly ServerEvent[] {
  const fields = block.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line))
  const valuesOf = (name: string) => fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ''] : []))
  const data = valuesOf('data').join('\n')
  return data === '' ? [] : [{ event: valuesOf('event')[0] ?? 'message', data: JSON.parse(data) }]
}

async function follow(path: string, signal: AbortSignal, onEvent: (event: ServerEvent) => void): Promise<void> {
  const response = await sendRequest(path, { signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    const { events, rest } = takeEvents(text + piece.value)
    text = rest
    for (const event of events) onEvent(event)
  }
}

const MIN_PAUSE_MS = 1000
const MAX_PAUSE_MS = 30_000

/** Follows a stream, and connects again if it breaks. Returns whether it is connected. */
export function useEvents(path: string | undefined, onEvent: (event: ServerEvent) => void): boolean {
  const [isConnected, setConnected] = useState(false)
  const listener = useRef(onEvent)
  listener.current = onEvent
  useEffect(() => {
    if (path === undefined) return
    const abort = new AbortController()
    let timer = 0
    const connect = async (lastPauseMs: number) => {
      let pauseMs = lastPauseMs
      const receive = (event: ServerEvent) => {
        pauseMs = MIN_PAUSE_MS
        setConnected(true)
        listener.current(event)
      }
      await follow(path, abort.signal, receive).catch(() => undefined)
      setConnected(false)
      if (!abort.signal.aborted) timer = setTimeout(connect, pauseMs, Math.min(pauseMs * 2, MAX_PAUSE_MS))
    }
    void connect(MIN_PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [path])
  return isConnected
}
