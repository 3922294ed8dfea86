// What the threads of one server say to each other, and what they share.
import type { KeyObject } from 'node:crypto'
import type { ErrorCode } from '../base/errors.ts'
import type { Endpoint, ListenerLimits, TlsSettings } from '../http/server.ts'
import type { SnapshotCopy } from '../live-config/replica.ts'
import type { MetricsCopy } from '../observe/metrics.ts'
import type { EventFields, EventKind } from '../observe/security-event-table.ts'
import type { ServerError } from '../observe/server-errors.ts'

/** The configuration and the keys of the main thread. */
export interface SharedState {
  readonly snapshot: SnapshotCopy
  /** Differs with every key that verifies tokens. */
  readonly keyVersions: string
}

export interface WorkerListener {
  readonly door: string
  readonly endpoint: Endpoint
  readonly limits: ListenerLimits
}

/** What a worker thread is started with. */
export interface WorkerStart {
  readonly state: SharedState
  readonly generatedKey: KeyObject
  readonly listeners: readonly WorkerListener[]
  /** How many threads share the connections to the upstreams. */
  readonly threads: number
  readonly relayPath: string
  readonly counters: ThreadCounters
  /** Of this worker alone: raised regularly while its event loop is not stuck. */
  readonly beats: ThreadCounters
  /** Of the channel for connections. */
  readonly fd: number
}

/** Of a refusal. */
interface SentError {
  readonly code: ErrorCode
  readonly detail?: string | undefined
}

export type ToWorker =
  /** Something has changed; `state` is set if it is the configuration or a key. */
  | { readonly kind: 'changed'; readonly state?: SharedState }
  | { readonly kind: 'result'; readonly id: number; readonly value?: unknown; readonly error?: SentError }
  | { readonly kind: 'tls'; readonly listener: number; readonly tls: TlsSettings }
  /** Send the metrics. */
  | { readonly kind: 'metrics' }
  | LeaveOrder

/** No connection follows those in the channel. */
export interface LeaveOrder {
  /**
   * `retire`: each connection ends with its next reply, or after `graceMs`; a running request is finished, however long
   * it takes. `stop`: connections end as soon as their requests are done, at the latest after `graceMs`.
   */
  readonly kind: 'retire' | 'stop'
  readonly graceMs: number
}

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'call'; readonly id: number; readonly method: string; readonly args: readonly unknown[] }
  | { readonly kind: 'closed'; readonly connection: number }
  | { readonly kind: 'event'; readonly event: EventKind; readonly fields: EventFields<EventKind> }
  /** With the server errors since the last message of this kind. */
  | { readonly kind: 'metrics'; readonly copy: MetricsCopy; readonly serverErrors: readonly ServerError[] }

/** Numbers that all threads see at once, by index. */
export type ThreadCounters = Int32Array<SharedArrayBuffer>

/** How often something has changed that decides who is accepted. */
export const CHANGES = 0
/** How many password checks have failed. */
export const FAILURES = 1

export const createCounters = (): ThreadCounters => new Int32Array(new SharedArrayBuffer(8))
