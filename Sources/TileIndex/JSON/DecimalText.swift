/// Numbers as metadata has them: the shortest digits that read back as the same double, without exponent.
package enum DecimalText {
  package static func text(_ value: Double) -> String {
    guard value.isFinite, value != 0 else { return "0" }
    var text = value.description
    if text.hasSuffix(".0") { text.removeLast(2) }
    guard let mark = text.firstIndex(of: "e") else { return text }
    let exponent = Int(text[text.index(after: mark)...]) ?? 0
    let sign = value < 0 ? "-" : ""
    let mantissa = text[..<mark].drop { $0 == "-" }.split(separator: ".")
    let whole = String(mantissa[0])
    let digits = whole + (mantissa.count > 1 ? mantissa[1] : "")
    let point = whole.count + exponent
    if point <= 0 { return "\(sign)0.\(String(repeating: "0", count: -point))\(digits)" }
    if point >= digits.count { return sign + digits + String(repeating: "0", count: point - digits.count) }
    return sign + digits.prefix(point) + "." + digits.dropFirst(point)
  }
}
