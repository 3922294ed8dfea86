/** The server of a test: real, in this process, on free ports. */
import { type Cardea, type CardeaOptions, createTestCardea } from '../../src/index.ts'

export type DoorName = 'document' | 'multiModel'

/** Options of the emulated servers too, which the types of the library leave out. */
export type AnyOptions = Readonly<Record<string, Readonly<Record<string, string | number | boolean | undefined>>>>

/** What a test or a suite gives to clean up after itself. */
export interface Scope {
  after(work: () => unknown): void
}

export interface Server {
  readonly cardea: Cardea
  /** The URL of each door. */
  readonly document: string
  readonly multiModel: string
}

/** Closed with its scope. Options are merged section by section. */
export async function startServer(scope: Scope, ...given: readonly (AnyOptions | CardeaOptions)[]): Promise<Server> {
  const options: Record<string, object> = {}
  for (const sections of given)
    for (const [section, values] of Object.entries(sections)) options[section] = { ...options[section], ...values }
  const cardea = await createTestCardea({ options })
  scope.after(() => cardea.close())
  const { document, multiModel } = await cardea.listen()
  return { cardea, document: document[0] ?? '', multiModel: multiModel[0] ?? '' }
}
