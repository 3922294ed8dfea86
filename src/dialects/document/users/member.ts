/** A member of a document. Pairs: an object would reorder names that look like numbers. */
export type Member = readonly [name: string, value: unknown]

export const renderMembers = (members: readonly Member[]): string =>
  `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
