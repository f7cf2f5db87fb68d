import Support

/// Secrets in the addresses of sources: a password, or a parameter such as `token`. They may be left to the
/// environment, as `${NAME}`, so that command lines, plans, logs and messages do not have them.
package enum RemoteSecrets {
  /// An address with the values of the variables that it names.
  ///
  /// - Throws: ``CutError`` `.invalidOption` for a variable that is not set.
  static func resolved(_ url: String) throws -> String {
    var result = ""
    var rest = url[...]
    while let start = rest.firstRange(of: "${"), let end = rest[start.upperBound...].firstIndex(of: "}") {
      let name = String(rest[start.upperBound..<end])
      guard let value = FileSystem.environment(name) else {
        throw CutError(
          .invalidOption, path: RemoteSourceFile.label(url), "names the variable \(name), which is not set",
          remedy: "set it in the environment of every process that reads the source")
      }
      result += rest[..<start.lowerBound] + value
      rest = rest[rest.index(after: end)...]
    }
    return result + rest
  }

  /// What of an address is a secret that it spells out, for messages; nil if there is none, or for a path.
  package static func found(in source: String) -> String? {
    guard RemoteSourceFile.isURL(source) else { return nil }
    if let password = password(in: source), isSpelledOut(password) { return "a password" }
    return parameters(of: source).first { isSecret($0.name) && isSpelledOut($0.value) }.map { "a \($0.name)" }
  }

  /// An address without the values of parameters that are secrets.
  static func withoutParameters(_ url: String) -> String {
    var result = url
    for parameter in parameters(of: url).reversed() where isSecret(parameter.name) && isSpelledOut(parameter.value) {
      result.replaceSubrange(parameter.value.startIndex..<parameter.value.endIndex, with: "…")
    }
    return result
  }

  private static func isSpelledOut(_ value: Substring) -> Bool {
    !value.isEmpty && !(value.hasPrefix("${") && value.hasSuffix("}"))
  }

  /// As stores of objects and map services call them: X-Amz-Signature, sig, access_token, apikey and others.
  private static func isSecret(_ name: Substring) -> Bool {
    let name = name.lowercased()
    return ["token", "key", "sig", "secret", "passw", "pwd", "auth", "credential"].contains { name.contains($0) }
  }

  private static func password(in url: String) -> Substring? {
    guard let scheme = url.firstRange(of: "://") else { return nil }
    let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
    guard let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") else { return nil }
    return authority[authority.index(after: colon)..<at]
  }

  private static func parameters(of url: String) -> [(name: Substring, value: Substring)] {
    guard let mark = url.firstIndex(of: "?") else { return [] }
    return url[url.index(after: mark)...].prefix { $0 != "#" }.split(separator: "&").compactMap { part in
      part.firstIndex(of: "=").map { (part[..<$0], part[part.index(after: $0)...]) }
    }
  }
}
