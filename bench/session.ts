import { createCpuBench } from './support/compare-cpu.ts'

export const bench = createCpuBench({
  title: 'CPU time of `GET /_session`',
  about: 'CPU time of `GET /_session`, and of a minimal `node:http` server that returns as much',
  path: '/_session',
  baseline: {
    name: 'minimal server',
    find: ({ upstream, upstreamChild }) => ({ url: upstream, pids: [upstreamChild.pid] }),
  },
})
