// What doors and their listeners are given of the options.
import { BlockList } from 'node:net'
import { expandPeers } from '../config/addresses.ts'
import type { Config } from '../config/options.ts'
import type { ListenerLimits } from '../http/server.ts'
import type { TrustRules } from '../http/trust.ts'

/** Each of the processes that serve has its share of all connections. */
export const divideConnections = (door: Config['door'], processes: number): Config['door'] => ({
  ...door,
  'max-connections': Math.ceil(door['max-connections'] / processes),
})

/** Without the name of a listener of the options, for the control socket. */
export const toListenerLimits = ({ door }: Config, processes: number, name = ''): ListenerLimits => ({
  ...divideConnections(door, processes),
  usesProxyProtocol: door['proxy-protocol'].includes(name),
  usesHttp2: door.http2.includes(name),
})

export function toTrustRules({ chttpd }: Config): TrustRules {
  const { ranges, hasUnix } = expandPeers(chttpd.trusted_proxies)
  const trusted = new BlockList()
  for (const { address, prefix, family } of ranges) trusted.addSubnet(address, prefix, family)
  return {
    trusted,
    trustsUnixSockets: hasUnix,
    family: chttpd.forwarded_headers,
    hostHeader: chttpd.x_forwarded_host.toLowerCase(),
    protoHeader: chttpd.x_forwarded_proto.toLowerCase(),
    sslHeader: chttpd.x_forwarded_ssl.toLowerCase(),
    peerHeader: chttpd.peer_header.toLowerCase(),
  }
}
