import { type Codec, refuseValue, whole } from '../../config/codecs.ts'
import { FIXED, restart } from '../../config/option-table.ts'

const COLLECTOR = 'http://host:port or https://host:port, with a path if it is not /v1/traces, or nothing'

/** Where a collector of OpenTelemetry receives traces. Credentials belong in a header, not in the URL. */
const collectorUrl: Codec<string> = {
  expects: COLLECTOR,
  parse: (value) => {
    if (value === '') return value
    const url = URL.canParse(value) ? new URL(value) : undefined
    if (!url || !/^https?:$/.test(url.protocol) || /[?#@]/.test(value)) return refuseValue(COLLECTOR)
    if (url.pathname === '/') url.pathname = '/v1/traces'
    return url.href
  },
  print: (value) => value,
}

export const tracingOptions = {
  rows: {
    'tracing.endpoint': restart(collectorUrl, '', {
      help: 'Collector of OpenTelemetry that gets the traces of requests, by OTLP over HTTP in JSON.',
      more: 'Empty means no traces. Without a path, /v1/traces is used. Headers for the collector are in the variable OTEL_EXPORTER_OTLP_HEADERS.',
      fixed: FIXED.gateway,
    }),
    'tracing.sample-percent': restart(whole(0, 100), 100, {
      help: 'How many of 100 traces that begin here are recorded.',
      more: 'A traceparent header of the client decides for its own trace.',
    }),
  },
  sections: { tracing: 'Traces for OpenTelemetry.' },
}
