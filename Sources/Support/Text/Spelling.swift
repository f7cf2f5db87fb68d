/// Suggestions for misspelled words, and the two ways in which options are spelled.
package enum Spelling {
  /// A name in camel case as an option of a command, without its dashes: `publicUrl` is `public-url`.
  package static func option(_ name: String) -> String {
    name.reduce(into: "") { $0 += $1.isUppercase ? "-\($1.lowercased())" : String($1) }
  }

  /// The most similar word, if at most a third of the letters differ, and at most three, ignoring case.
  package static func nearest(to word: String, among words: [String]) -> String? {
    let letters = Array(word.lowercased())
    let ranked = words.map { ($0, distance(letters, Array($0.lowercased()))) }
    guard let best = ranked.min(by: { $0.1 < $1.1 }), best.1 <= min(max(letters.count / 3, 1), 3) else {
      // Otherwise a word that is a prefix of the other: productIdentifier for productId.
      return words.first {
        letters.count > 2
          && ($0.lowercased().hasPrefix(word.lowercased()) || word.lowercased().hasPrefix($0.lowercased()))
      }
    }
    return best.0
  }

  /// What to do about a name that is none of those that there are: the most similar one, or some of them.
  package static func remedy(for name: String, among names: [String]) -> String {
    if let near = nearest(to: name, among: names) { return "did you mean \"\(near)\"?" }
    let some = names.prefix(8).joined(separator: ", ")
    if names.isEmpty { return "there is none" }
    return "choose one of \(some)" + (names.count > 8 ? ", or of \(names.count - 8) more" : "")
  }

  /// The edit distance: letters to insert, delete, replace, or swap with their neighbour.
  private static func distance(_ a: [Character], _ b: [Character]) -> Int {
    var rows = [Array(0...b.count)]
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var best = min(row[j], rows[i][j + 1]) + 1
        best = min(best, rows[i][j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}
