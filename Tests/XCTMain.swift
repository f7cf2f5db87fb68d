import Testing

/// The entry point of the test runner. SwiftPM takes it instead of the one that it writes itself: that one looks for XCTest
/// classes in the editors' index, which is not made here, and there are none.
@main
enum TestMain {
  static func main() async {
    await Testing.__swiftPMEntryPoint() as Never
  }
}
