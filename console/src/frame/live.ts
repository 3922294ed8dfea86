// One stream of events for all parts of the page.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { AuditRecordView } from '../api/client.ts'
import { useEvents } from '../api/stream.ts'

type Listener = (data: unknown) => void

const listeners = new Map<string, Set<Listener>>()

/** Sent by the console itself, when the stream is connected or connected again. */
export const CONNECTED = 'connected'

function announce(event: string, data: unknown): void {
  for (const listener of listeners.get(event) ?? []) listener(data)
}

/** Opens the stream; used once, by the frame. Returns whether the connection was lost. */
export function useLiveStream(isOpen: boolean): boolean {
  const wasConnected = useRef(false)
  const isConnected = useEvents(isOpen ? '/events' : undefined, ({ event, data }) => announce(event, data))
  useEffect(() => {
    if (!isConnected) return
    wasConnected.current = true
    announce(CONNECTED, undefined)
  }, [isConnected])
  return isOpen && wasConnected.current && !isConnected
}

/** Calls the listener for every event of this kind. */
export function useLive<T>(event: string, listener: (data: T) => void): void {
  const current = useRef(listener)
  current.current = listener
  useEffect(() => {
    const call: Listener = (data) => current.current(data as T)
    const all = listeners.get(event) ?? new Set()
    listeners.set(event, all.add(call))
    return () => void all.delete(call)
  }, [event])
}

/** After a batch of changes, lists are loaded once. */
const RELOAD_PAUSE_MS = 300

/** Loads again after what others have changed, and when the stream is connected again. */
export function useLiveReload(concerns: (record: AuditRecordView) => boolean, reload: () => void): void {
  const timer = useRef(0)
  const reloadSoon = () => {
    clearTimeout(timer.current)
    timer.current = setTimeout(reload, RELOAD_PAUSE_MS)
  }
  useLive<AuditRecordView>('audit', (record) => concerns(record) && reloadSoon())
  useLive(CONNECTED, reloadSoon)
  useEffect(() => () => clearTimeout(timer.current), [])
}

export interface LiveCounts {
  readonly lockedAccounts: number
  readonly failingUpstreams: number
}

export function useLiveCounts(): LiveCounts {
  const [counts, setCounts] = useState<LiveCounts>({ lockedAccounts: 0, failingUpstreams: 0 })
  useLive<LiveCounts>('counts', setCounts)
  return counts
}
