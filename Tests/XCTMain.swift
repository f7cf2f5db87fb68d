import LibC
import Testing

/// The entry point of the test runner. SwiftPM takes it instead of the one that it writes itself: that one looks for
/// XCTest classes in the editors' index, which is not made here, and there are none.
@main
enum TestMain {
  static func main() async {
    guard CommandLine.arguments.contains("swift-testing") else {
      // SwiftPM does not see that there are tests for Swift Testing beside an entry point of ours.
      print("error: run the tests by make test, or by swift test --disable-xctest --enable-swift-testing")
      exit(64)
    }
    await Testing.__swiftPMEntryPoint() as Never
  }
}
