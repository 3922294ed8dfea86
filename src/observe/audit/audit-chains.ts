// The chains of a node: each of its processes writes one, by its place. The first place has the name of the node.

/** No name of a node contains it. */
const SEPARATOR = '/'

export const toChainName = (node: string, place: number): string => (place === 1 ? node : `${node}${SEPARATOR}${place}`)

export const isChainOf = (node: string, chain: string): boolean => chain === node || chain.startsWith(node + SEPARATOR)
