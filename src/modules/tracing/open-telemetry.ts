/**
 * Tracing with OpenTelemetry. This file is imported only if `tracing.endpoint` is set, because its libraries take time
 * and memory. Attributes follow the semantic conventions of OpenTelemetry. No span holds a path, a query, a header, a
 * cookie or a user name: a path can name a user or a document.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Log } from '../../base/log.ts'
import { PRODUCT } from '../../base/product.ts'
import { waitAtMost } from '../../base/sleep.ts'
import type { Config } from '../../config/options.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type {
  ChildSpan,
  RequestSpan,
  TracedOutcome,
  TracedRequest,
  Tracing,
  UpstreamSpan,
} from '../../observe/tracing.ts'

/** Spans that wait to be sent. Above this number they are dropped. */
const MAX_WAITING = 2048
const EXPORT_DELAY_MS = 2000
const EXPORT_TIMEOUT_MS = 3000
const CLOSE_TIMEOUT_MS = 2000

export function createTracing(config: Config, { store, log }: Kernel): Tracing {
  const provider = createProvider(config, log)
  const tracer = provider.getTracer(PRODUCT.name, PRODUCT.version)
  const active = new AsyncLocalStorage<Context>()
  const attributes = { 'db.system.name': store.engine === 'postgres' ? 'postgresql' : store.engine }
  return {
    startRequest: (request) => new TracedRequestSpan(tracer, active, request),
    onStoreOperation({ access, isFailed, durationMs }) {
      const parent = active.getStore()
      if (!parent) return
      const startTime = Date.now() - durationMs
      const span = tracer.startSpan(`store ${access}`, { kind: SpanKind.CLIENT, attributes, startTime }, parent)
      finish(span, isFailed ? 'store_unavailable' : undefined)
    },
    close: () => waitAtMost([provider.shutdown()], CLOSE_TIMEOUT_MS),
  }
}

function createProvider({ tracing, node }: Config, log: Log): TracerProvider {
  const exporter = new OTLPTraceExporter({ url: tracing.endpoint, timeoutMillis: EXPORT_TIMEOUT_MS })
  const warn = (error: Error | undefined) =>
    log.warn('traces could not be sent, and are lost', { endpoint: tracing.endpoint, error })
  return new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': PRODUCT.name.toLowerCase(),
      'service.version': PRODUCT.version,
      'service.instance.id': node.name,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(tracing['sample-percent'] / 100) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportFailures(exporter, warn),
        maxQueueSize: MAX_WAITING,
        scheduledDelayMillis: EXPORT_DELAY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  })
}

const REPORT_EVERY_MS = 60_000

/** `warn` is called at most once a minute. */
function reportFailures(exporter: SpanExporter, warn: (error: Error | undefined) => void): SpanExporter {
  let reportedAtMs = Number.NEGATIVE_INFINITY
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error && performance.now() - reportedAtMs >= REPORT_EVERY_MS) {
          reportedAtMs = performance.now()
          warn(result.error)
        }
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}

const PROPAGATOR = new W3CTraceContextPropagator()

const GETTER = {
  get: (request: TracedRequest, name: string) => request.header(name),
  keys: () => PROPAGATOR.fields(),
}

/** A client may send any word as the method. Other methods become `_OTHER`, to limit the number of span names. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'COPY'])

const toMethod = (method: string): string => (METHODS.has(method) ? method : '_OTHER')

class TracedRequestSpan implements RequestSpan {
  readonly #tracer: Tracer
  readonly #active: AsyncLocalStorage<Context>
  readonly #method: string
  readonly #span: Span
  readonly #context: Context

  constructor(tracer: Tracer, active: AsyncLocalStorage<Context>, request: TracedRequest) {
    this.#tracer = tracer
    this.#active = active
    this.#method = toMethod(request.method)
    const parent = PROPAGATOR.extract(ROOT_CONTEXT, request, GETTER)
    const attributes = {
      'http.request.method': this.#method,
      'url.scheme': request.scheme,
      'cardea.door': request.door,
      'cardea.request_id': request.id,
    }
    this.#span = tracer.startSpan(this.#method, { kind: SpanKind.SERVER, attributes }, parent)
    this.#context = trace.setSpan(parent, this.#span)
  }

  run<T>(work: () => T): T {
    return this.#active.run(this.#context, work)
  }

  startAuthentication(): ChildSpan {
    const span = this.#tracer.startSpan('authenticate', {}, this.#context)
    return {
      end({ handler, error }) {
        if (handler !== undefined) span.setAttribute('cardea.handler', handler)
        finish(span, error)
      },
    }
  }

  startUpstream(method: string): UpstreamSpan {
    const name = toMethod(method)
    const attributes = { 'http.request.method': name }
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, this.#context)
    return {
      headers: listTraceHeaders(trace.setSpan(this.#context, span)),
      setServer: (url) => void span.setAttributes(toServer(url)),
      end({ status, error }) {
        if (status !== undefined) span.setAttribute('http.response.status_code', status)
        finish(span, error)
      },
    }
  }

  end({ status, route, handler, isAborted }: TracedOutcome): void {
    const span = this.#span
    if (route !== undefined) span.updateName(`${this.#method} ${route}`)
    span.setAttributes({
      'http.response.status_code': status,
      ...(route !== undefined && { 'http.route': route }),
      ...(handler !== undefined && { 'cardea.handler': handler }),
    })
    if (isAborted) finish(span, 'client_gone')
    else finish(span, status >= 500 ? String(status) : undefined)
  }
}

function finish(span: Span, error: string | undefined): void {
  if (error !== undefined) {
    span.setAttribute('error.type', error)
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end()
}

function listTraceHeaders(context: Context): readonly string[] {
  const headers: string[] = []
  PROPAGATOR.inject(context, headers, { set: (carrier, name, value) => void carrier.push(name, value) })
  return headers
}

function toServer(text: string): Attributes {
  const { hostname, port, protocol } = new URL(text)
  return { 'server.address': hostname, 'server.port': Number(port || DEFAULT_PORTS[protocol]) }
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
