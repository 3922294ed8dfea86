/** Everything that says how a server is: a test names a state once, and all of it must agree. */
import assert from 'node:assert/strict'
import { ADMIN_PASSWORD, type Managed, type Serving } from './managed.ts'
import { basic, send } from './request.ts'
import { waitUntilPasses } from './wait.ts'

export interface Verdict {
  readonly part: string
  /** `warning`: the server is ready all the same. */
  readonly state: 'warning' | 'failed'
  /** The reason, in every place that shows one. */
  readonly words: RegExp
  /** The status of `/_up`; 200 unless it is given. */
  readonly up?: number
  /** `cardea check` names it as a problem of the configuration: the server would not start again. */
  readonly isUnstartable?: boolean
}

/**
 * Waits until log, probes, admin API, command line and metrics say it. On a busy machine a single check of a part may
 * also get no response in time.
 */
export async function expectVerdict(managed: Managed, server: Serving, verdict: Verdict): Promise<void> {
  await waitUntilPasses(() => expectAnswers(server, verdict))
  await waitUntilPasses(() => expectCommands(managed, verdict))
  const { part, state, words } = verdict
  const logged = `"level":40.*"msg":"${state === 'warning' ? 'warning' : 'not ready'}: ${part}: .*(?:${words.source})`
  await waitUntilPasses(async () => void findLine(server.stdout() + server.stderr(), new RegExp(logged)))
}

async function expectAnswers(server: Serving, { part, state, words, up = 200 }: Verdict): Promise<void> {
  const isReady = state === 'warning'
  const ask = (path: string) =>
    send(server.document, { path, headers: { Authorization: basic('admin', ADMIN_PASSWORD) } })
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
}

async function expectCommands(managed: Managed, { part, state, words, isUnstartable = false }: Verdict): Promise<void> {
  const isReady = state === 'warning'
  const status = await managed.cardea(['status'])
  assert.equal(status.code, isReady ? 0 : 1, status.stdout)
  assert.match(status.stdout, isReady ? /^state +ready$/m : /^state +not ready$/m)
  assert.match(findLine(status.stdout, new RegExp(`^  ${part} +${state}: `)), words)
  const check = await managed.cardea(['check'])
  const said = isReady ? `warning +server +${part}: ` : `problem +server +not ready: ${part}: `
  assert.match(findLine(check.stdout, new RegExp(`^${isUnstartable ? 'problem +configuration ' : said}`)), words)
  if (!isReady || isUnstartable) assert.equal(check.code, isUnstartable ? 6 : 1)
}

function findLine(text: string, pattern: RegExp): string {
  const line = text.split('\n').find((each) => pattern.test(each))
  assert.ok(line, `${pattern} is not in\n${text}`)
  return line
}
