/// A place as a row: name, kind, longitude, latitude, importance, one after the other.
extension Place {
  /// Reads it from the columns of a result. What keeps it from being stored, ``fault`` says.
  init(_ statement: SQLiteStatement, from column: Int32) {
    self.init(
      name: statement.text(column) ?? "", kind: statement.text(column + 1) ?? "",
      longitude: statement.double(column + 2), latitude: statement.double(column + 3),
      importance: statement.double(column + 4))
  }

  /// Binds it to the parameters of a statement.
  func bind(to statement: SQLiteStatement, from parameter: Int32) throws {
    try statement.bind(name, at: parameter)
    try statement.bind(kind, at: parameter + 1)
    statement.bind(longitude, at: parameter + 2)
    statement.bind(latitude, at: parameter + 3)
    statement.bind(importance, at: parameter + 4)
  }
}
