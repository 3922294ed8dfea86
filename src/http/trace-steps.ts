import { Refusal } from '../base/errors.ts'
import type { Dialect, RequestContext, Step } from './request-context.ts'

/** The dialect with a span for each step that authenticates. Used only where requests are traced. */
export const withTracedSteps = (dialect: Dialect): Dialect => ({
  ...dialect,
  steps: dialect.steps.map((step) => (step.authenticates ? traceStep(step) : step)),
})

const traceStep = (step: Step): Step => ({
  ...step,
  async run(context) {
    const span = context.span?.startAuthentication()
    try {
      const reply = await step.run(context)
      span?.end({ handler: handlerOf(context) })
      return reply
    } catch (error) {
      span?.end({ error: error instanceof Refusal ? error.code : 'internal' })
      throw error
    }
  },
})

/** The credential handler that decided; `undefined`: the request is anonymous. */
export const handlerOf = ({ authenticated }: Pick<RequestContext, 'authenticated'>): string | undefined =>
  authenticated?.credential?.handler
