/**
 * Traces of requests, which OpenTelemetry sends to a collector. Tests: `test/scenario/tracing.test.ts`, and those of the
 * package. Reference: `docs/reference/traces.md`.
 */
import { extname } from 'node:path'
import { StartError } from '../../kernel/start-error.ts'
import { defineModule } from '../module.ts'
import type { createTracing } from './open-telemetry.ts'
import { tracingOptions } from './options.ts'

const LIBRARIES = ['api', 'core', 'exporter-trace-otlp-http', 'resources', 'sdk-trace']
const MISSING = `tracing.endpoint: OpenTelemetry is not installed. Run npm install ${LIBRARIES.map((name) => `@opentelemetry/${name}`).join(' ')} where Cardea is installed`

/** The libraries are loaded only if traces are wanted. */
async function loadLibraries() {
  // not a literal: a bundler would look for the libraries, which may not be installed
  const { href } = new URL(`./open-telemetry${extname(import.meta.url)}`, import.meta.url)
  const loaded: Promise<{ readonly createTracing: typeof createTracing }> = import(href)
  return loaded.catch((error) => {
    throw error.code === 'ERR_MODULE_NOT_FOUND' ? new StartError(MISSING, { cause: error }) : error
  })
}

export const tracing = defineModule({
  name: 'tracing',
  options: tracingOptions,
  async tracing({ config, kernel }) {
    const values = config.get()
    return values.tracing.endpoint === '' ? undefined : (await loadLibraries()).createTracing(values, kernel)
  },
})
