// What a new installation still lacks.
import type { OverviewHealthView, OverviewView } from '../../../../src/dialects/admin-api/schemas/system.ts'
import type { texts } from './texts.ts'

type StepName = keyof typeof texts.firstSteps.steps

interface FirstStep {
  readonly name: StepName
  readonly isDone: boolean
}

/** What the steps need to know. Only whether a list is empty counts. */
interface Installation extends Pick<OverviewView, 'administrators'> {
  readonly health: Pick<OverviewHealthView, 'lastBackup'> & {
    readonly upstreams: readonly unknown[]
    readonly certificates: readonly unknown[]
  }
}

/** `isSecure`: the browser uses TLS, which a proxy may serve in place of Cardea. */
export function listSteps({ administrators, health }: Installation, isSecure: boolean): readonly FirstStep[] {
  return [
    { name: 'upstream', isDone: health.upstreams.length > 0 },
    { name: 'tls', isDone: isSecure || health.certificates.length > 0 },
    { name: 'backup', isDone: health.lastBackup !== null },
    { name: 'administrator', isDone: administrators > 1 },
  ]
}
