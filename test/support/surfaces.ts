/** Everything that says how a server is: a test names a state once, and all of it must agree. */
import assert from 'node:assert/strict'
import { ADMIN_PASSWORD, type Managed, type Serving } from './managed.ts'
import { basic, send } from './request.ts'
import { waitUntil } from './wait.ts'

export interface Verdict {
  readonly part: string
  /** `warning`: the server is ready all the same. */
  readonly state: 'warning' | 'failed'
  /** The reason, in every place that shows one. */
  readonly words: RegExp
  /** The status of `/_up`; 200 unless it is given. */
  readonly up?: number
}

/** Waits until the server has noticed it, then asks log, probes, admin API, command line and metrics. */
export async function expectVerdict(managed: Managed, server: Serving, verdict: Verdict): Promise<void> {
  const { part, state, words, up = 200 } = verdict
  const isReady = state === 'warning'
  const ask = (path: string) =>
    send(server.document, { path, headers: { Authorization: basic('admin', ADMIN_PASSWORD) } })
  await waitUntil(async () => (await ask('/_cardea/ready')).json.components[part] === state)

  const ready = await ask('/_cardea/ready')
  assert.deepEqual([ready.status, ready.json.status], isReady ? [200, 'ok'] : [503, 'failed'])
  assert.match(ready.json.reasons[part], words, 'ready')
  assert.equal((await ask('/_up')).status, up, '/_up')
  for (const path of ['/_cardea/api/health', '/_cardea/api/overview']) {
    const { json } = await ask(path)
    const health = json.health ?? json
    const shown = health.parts.find(({ name }: { name: string }) => name === part)
    assert.deepEqual([health.isReady, shown.state, shown.isWorking], [isReady, state, isReady], path)
    assert.match(shown.problem, words, path)
  }
  const metrics = (await ask('/_cardea/metrics')).body
  assert.ok(metrics.includes(`cardea_health{part="${part}",state="${state}"} 1\n`), metrics)
  assert.ok(metrics.includes(`cardea_health{part="${part}",state="ok"} 0\n`), 'metrics')

  const status = await managed.cardea(['status'])
  assert.equal(status.code, isReady ? 0 : 1, status.stdout)
  assert.match(status.stdout, isReady ? /^state +ready$/m : /^state +not ready$/m)
  assert.match(findLine(status.stdout, new RegExp(`^  ${part} +${state}: `)), words)
  const check = await managed.cardea(['check'])
  const said = new RegExp(`^${isReady ? 'warning +server +' : 'problem +server +not ready: '}${part}: `)
  assert.match(findLine(check.stdout, said), words)
  if (!isReady) assert.equal(check.code, 1)
  const logged = new RegExp(`"level":40.*"msg":"${isReady ? 'warning' : 'not ready'}: ${part}: `)
  assert.match(findLine(server.stdout() + server.stderr(), logged), words)
}

function findLine(text: string, pattern: RegExp): string {
  const line = text.split('\n').find((each) => pattern.test(each))
  assert.ok(line, `${pattern} is not in\n${text}`)
  return line
}
