import { createCpuBench } from './support/compare-cpu.ts'

export const bench = createCpuBench({
  title: 'CPU time of the gateway',
  about: 'CPU time of a small document through the gateway',
  path: '/db/doc',
  baseline: { name: 'minimal proxy', find: ({ proxy, proxyChild }) => ({ url: proxy, pids: [proxyChild.pid] }) },
})
