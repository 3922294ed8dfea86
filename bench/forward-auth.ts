// CPU time of a small document through nginx that asks the forward-auth endpoint, as in
// docs/guides/protect-an-application.md, compared with Cardea's own gateway. Sizes: as in support/compare-cpu.ts.
import { PROXIES } from '../test/long/proxies/programs.ts'
import { findProgram, startProxy } from '../test/long/proxies/running.ts'
import { type Contestant, compare, METHOD } from './support/compare-cpu.ts'
import { toBasic, toLocalUrl, withGateway } from './support/gateway.ts'

const NAMES = { nginx: 'nginx, each request decided', 'nginx-cache': 'nginx, cached decisions' }

async function run(rounds, sizes, { gateway, upstream, child }) {
  await using started = new AsyncDisposableStack()
  const createHeader = () => `Authorization: ${toBasic()}\r\n`
  const contestants: Contestant[] = [{ name: 'gateway', url: gateway, pids: [child.pid], createHeader }]
  for (const [key, name] of Object.entries(NAMES)) {
    const addresses = { gate: new URL(gateway).host, application: new URL(upstream).host }
    const proxy = started.adopt(await startProxy(key, PROXIES[key], addresses), ({ stop }) => stop())
    contestants.push({ name, url: toLocalUrl(proxy.port), pids: [proxy.pid, child.pid], createHeader })
  }
  return await compare(contestants, '/db/doc', rounds, sizes)
}

export const bench = {
  title: 'CPU time of nginx in front of `/_gate`',
  about:
    'CPU time of a small document with Basic through the gateway, and through nginx that asks `/_gate`: before each\n' +
    `request, or once a second (\`gate.cache-seconds = 1\`). nginx and Cardea together, ${METHOD} There is no goal.`,
  runs: 40,
  async run(rounds, sizes) {
    if (findProgram(PROXIES.nginx) === undefined)
      return { columns: [''], rows: [['nginx is not installed']], isGoalMet: true }
    return withGateway((servers) => run(rounds, sizes, servers))
  },
}
