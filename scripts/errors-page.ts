// docs/reference/errors.md, from the error tables of the dialects.
import { ERRORS, type ErrorCode, Refusal } from '../src/base/errors.ts'
import { toDocumentErrorBody, toDocumentErrorReply } from '../src/dialects/document/errors.ts'
import { toMultiModelError } from '../src/dialects/multi-model/errors.ts'

const INTRODUCTION = `<!-- Generated from the error tables in src/. Change those and run: npm run generate -->
# Errors

Every error has a code in Cardea and one row per door. \`…\` is text that depends on the request.

| where | body |
|---|---|
| document door (CouchDB-compatible) | \`{"error":…,"reason":…}\` |
| multi-model door (ArangoDB-compatible) | \`{"error":true,"code":STATUS,"errorNum":…,"errorMessage":…}\` |
| admin API | \`{"error":CODE,"reason":MEANING}\` |

A door uses some of the codes only; the others exist for parts of Cardea that both doors share. 429 and 503 come with
\`Retry-After\`. A 500 is a defect of Cardea: please report it, with the request id of the response.

## Codes

| code | meaning | document | multi-model | admin API |
|---|---|---|---|---|
`

const DOCUMENT = `
## At the document door

| status | \`error\` | \`reason\` | code |
|---|---|---|---|
`

const MULTI_MODEL = `
## At the multi-model door

| status | \`errorNum\` | \`errorMessage\` | code |
|---|---|---|---|
`

const escapeCell = (text) => text.replaceAll('|', '\\|')
const row = (...cells) => `| ${cells.map((cell) => escapeCell(String(cell))).join(' | ')} |\n`

const toDocument = (refusal) => ({ status: toDocumentErrorReply(refusal).status, ...toDocumentErrorBody(refusal) })

export function renderErrorsPage() {
  const codes = Object.keys(ERRORS) as ErrorCode[]
  const rows = codes.map((code) => {
    const { status: adminApi, text: meaning } = ERRORS[code]
    const refusal = new Refusal(code, { reason: '…' })
    return { code, meaning, adminApi, document: toDocument(refusal), multiModel: toMultiModelError(refusal) }
  })
  const byStatus = (name, status) => rows.toSorted((a, b) => a[name][status] - b[name][status])
  return [
    INTRODUCTION,
    ...rows.map(({ code, meaning, adminApi, document, multiModel }) =>
      row(`\`${code}\``, meaning, document.status, multiModel.code, adminApi),
    ),
    DOCUMENT,
    ...byStatus('document', 'status').map(({ code, document: { status, error, reason } }) =>
      row(status, `\`${error}\``, reason, `\`${code}\``),
    ),
    MULTI_MODEL,
    ...byStatus('multiModel', 'code').map(({ code, multiModel }) =>
      row(multiModel.code, multiModel.errorNum, multiModel.errorMessage, `\`${code}\``),
    ),
  ].join('')
}
