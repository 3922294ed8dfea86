/**
 * The port of tracing. A module brings it; only where it wants traces, each request has a span.
 */

/** What a trace says about a request when it begins. */
export interface TracedRequest {
  readonly id: string
  readonly method: string
  readonly scheme: 'http' | 'https'
  readonly door: string
  /** Read for `traceparent` and `tracestate` only. */
  header(name: string): string | undefined
}

/** What is known when the response was sent or the client has disconnected. */
export interface TracedOutcome {
  readonly status: number
  /** Pattern of the route that handled it. */
  readonly route: string | undefined
  /** The credential handler that decided; `undefined`: anonymous. */
  readonly handler: string | undefined
  /** Whether the client disconnected before the end of the response. */
  readonly isAborted: boolean
}

export interface Tracing {
  startRequest(request: TracedRequest): RequestSpan
  /** Adds a span to the request that the running code works for, if any. */
  onStoreOperation(operation: StoreOperation): void
  /** Sends the spans that wait. Takes at most a few seconds. */
  close(): Promise<void>
}

export interface StoreOperation {
  readonly access: 'read' | 'write'
  /** Whether the store did not respond. */
  readonly isFailed: boolean
  readonly durationMs: number
}

/** A request while it is handled. */
export interface RequestSpan {
  /** Runs the work of the request, so that store operations in it are found. */
  run<T>(work: () => T): T
  startAuthentication(): ChildSpan
  startUpstream(method: string): UpstreamSpan
  end(outcome: TracedOutcome): void
}

export interface ChildSpan {
  /** `error`: a short code of what went wrong, never a text with data of the client. */
  end(result: { readonly handler?: string | undefined; readonly error?: string | undefined }): void
}

export interface UpstreamSpan {
  /** Names and values in turn, for the request to the upstream. */
  readonly headers: readonly string[]
  /** Called with each server that the request is sent to. */
  setServer(url: string): void
  /** Called once, when the response is complete or has failed. A response of 5xx has both. */
  end(result: { readonly status?: number; readonly error?: string }): void
}

/** The headers that carry a trace. */
export const TRACE_HEADERS: readonly string[] = ['traceparent', 'tracestate']
