// Two document doors of Cardea in one process, put together from the same parts: one with audit trail and metrics as in
// the product, and one where these parts do nothing. In one process they share everything else that varies. Argument: a
// folder for each. Prints their ports.

import { SILENT_LOG } from '../../src/base/log.ts'
import { type Endpoint, listen } from '../../src/http/server.ts'
import type { Audit } from '../../src/kernel/audit.ts'
import { toListenerLimits } from '../../src/live-config/door-settings.ts'
import { openLiveConfig } from '../../src/live-config/live-config.ts'
import { openConfiguration } from '../../src/live-config/load.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { KERNEL_ROWS } from '../../src/modules.ts'
import { createMetrics, type Metrics } from '../../src/observe/metrics.ts'
import { createPartObserver } from '../../src/observe/part-metrics.ts'
import type { RequestObserver } from '../../src/observe/request-metrics.ts'
import { createDocumentDoor } from '../../src/wiring/document-door.ts'
import { openParts } from '../../src/wiring/parts.ts'

const nothing = () => {}
const NO_EVENTS = { record: nothing, requireRecording: nothing, flush: nothing }
const noDestinations = () => []
/** Only what a door uses: the class has more. */
const NO_AUDIT = {
  ...{ append: nothing, onRecord: () => nothing, listDestinations: noDestinations, requireRecording: nothing },
} as unknown as Audit
const NO_METRICS = {
  counter: () => ({ count: 0 }),
  histogram: () => ({ observe: nothing }),
  collect: nothing,
  collectValue: nothing,
  read: () => [],
  copy: () => [],
  render: async () => '',
} as unknown as Metrics

/** A door accepts none. */
const NO_OBSERVER = undefined as unknown as RequestObserver

const openConfig = (folder, observer) =>
  openLiveConfig({
    rows: KERNEL_ROWS,
    load: () =>
      openConfiguration({
        table: OPTION_TABLE,
        flags: { configs: [folder], flags: [], problems: [] },
        env: {},
        cwd: folder,
      }),
    log: SILENT_LOG,
    observer,
  })

const withKernel = (liveConfig, parts) => ({ ...liveConfig, kernel: { ...liveConfig.kernel, ...parts } })

async function openObserved(folder) {
  const metrics = createMetrics()
  const liveConfig = await openConfig(folder, createPartObserver(metrics))
  return openParts(liveConfig, metrics, new AsyncDisposableStack(), {})
}

async function openUnobserved(folder) {
  const liveConfig = withKernel(await openConfig(folder, {}), { events: NO_EVENTS, audit: NO_AUDIT })
  const parts = await openParts(liveConfig, NO_METRICS, new AsyncDisposableStack(), {})
  return { ...parts, monitoring: { ...parts.monitoring, observeRequests: () => NO_OBSERVER } }
}

async function openDoor(parts) {
  const endpoint: Endpoint = { kind: 'tcp', host: '127.0.0.1', port: 0 }
  const limits = toListenerLimits(parts.core.liveConfig.get().settings.values, 1)
  const { url } = await listen(createDocumentDoor(parts), endpoint, limits)
  return Number(new URL(url).port)
}

const [observed, unobserved] = process.argv.slice(2)
const ports = [await openDoor(await openObserved(observed)), await openDoor(await openUnobserved(unobserved))]
process.stdout.write(`${JSON.stringify({ ports })}\n`)
